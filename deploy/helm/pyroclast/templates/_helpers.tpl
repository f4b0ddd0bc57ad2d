{{/* Names, labels, and common parts of scheduler and controllers. */}}

{{- define "pyroclast.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "pyroclast.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "pyroclast.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "pyroclast.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels of a component's objects: (dict "root" . "component" "scheduler") */}}
{{- define "pyroclast.labels" -}}
{{ include "pyroclast.selector" . }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | quote }}
{{- end -}}

{{- define "pyroclast.selector" -}}
app.kubernetes.io/name: {{ include "pyroclast.name" .root | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component | quote }}
{{- end -}}

{{- define "pyroclast.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* Requests and limits by size; memory is twice what the benchmarks use at that size, for lists and
     reloads. No limit on CPU: a throttled leader would miss its lease. */}}
{{- define "pyroclast.resources" -}}
{{- $given := (index .root.Values .component).resources -}}
{{- if $given -}}
{{ toYaml $given }}
{{- else -}}
{{- $sizes := dict
      "scheduler" (dict "small" (list "250m" "256Mi" "512Mi") "medium" (list "500m" "512Mi" "1Gi") "large" (list "1500m" "1Gi" "2Gi"))
      "admission" (dict "small" (list "50m" "96Mi" "256Mi") "medium" (list "100m" "128Mi" "384Mi") "large" (list "200m" "192Mi" "512Mi"))
      "controllers" (dict "small" (list "100m" "192Mi" "384Mi") "medium" (list "250m" "384Mi" "768Mi") "large" (list "500m" "768Mi" "1536Mi")) -}}
{{- $size := index $sizes .component .root.Values.size -}}
requests:
  cpu: {{ index $size 0 }}
  memory: {{ index $size 1 }}
limits:
  memory: {{ index $size 2 }}
{{- end -}}
{{- end -}}

{{/* No capabilities, and no writes outside /tmp. */}}
{{- define "pyroclast.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Spreads the replicas of a component over nodes and zones. */}}
{{- define "pyroclast.spread" -}}
{{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
- maxSkew: 1
  topologyKey: {{ $key }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "pyroclast.selector" $ | nindent 6 }}
{{- end }}
{{- end -}}

{{/* Placement and service account of a pod: (dict "root" . "component" "scheduler") */}}
{{- define "pyroclast.placement" -}}
{{- $own := index .root.Values .component -}}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
serviceAccountName: {{ printf "%s-%s" (include "pyroclast.fullname" .root) .component | quote }}
{{- if .root.Values.priorityClassName }}
priorityClassName: {{ .root.Values.priorityClassName | quote }}
{{- else if .root.Values.priorityClass.create }}
priorityClassName: {{ include "pyroclast.fullname" .root | quote }}
{{- end }}
securityContext:
  {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- with $own.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  {{- include "pyroclast.spread" . | trim | nindent 2 }}
{{- end -}}

{{/* Enabled components, separated by commas. Admission is separate, or in the controllers. */}}
{{- define "pyroclast.components" -}}
scheduler
{{- if .Values.controllers.enabled }},controllers{{ end }}
{{- if and .Values.admission.enabled .Values.admission.separate }},admission{{ end }}
{{- end -}}

{{/* The component that serves webhooks; empty without one. */}}
{{- define "pyroclast.admissionComponent" -}}
{{- if .Values.admission.enabled -}}
{{- if .Values.admission.separate -}}admission{{- else if .Values.controllers.enabled -}}controllers{{- end -}}
{{- end -}}
{{- end -}}

{{/* Rollout of replicas: a new one is ready (synced) before an old one ends, so that an upgrade is a change of
     leader, no gap. Not so where the lease gets another name: who leads under the old one and who leads under the new
     one would not wait for each other, so all old copies end first. (dict "root" . "component" "scheduler") */}}
{{- define "pyroclast.strategy" -}}
{{- $there := lookup "apps/v1" "Deployment" .root.Release.Namespace (printf "%s-%s" (include "pyroclast.fullname" .root) .component) -}}
{{- $lease := printf "--leader-elect-resource-name=%s" (index .root.Values .component).lease.name -}}
{{- $strangers := list -}}
{{- range ((($there.spec).template).spec).containers -}}
{{- if and (eq .name $.component) (not (has $lease .args)) -}}
{{- $strangers = append $strangers .name -}}
{{- end -}}
{{- end -}}
{{- if $strangers -}}
type: Recreate
{{- else -}}
type: RollingUpdate
rollingUpdate: {maxUnavailable: 0, maxSurge: 1}
{{- end -}}
{{- end -}}

{{/* Probes: alive means that background work continues, ready means synced and configured. */}}
{{- define "pyroclast.probes" -}}
startupProbe:
  httpGet: {path: /readyz, port: health}
  periodSeconds: 2
  failureThreshold: 150
readinessProbe:
  httpGet: {path: /readyz, port: health}
  periodSeconds: 5
livenessProbe:
  httpGet: {path: /livez, port: health}
  periodSeconds: 10
  failureThreshold: 6
{{- end -}}

{{/* The API server still sends requests for a moment after the endpoint is removed. */}}
{{- define "pyroclast.lastCalls" -}}
lifecycle:
  preStop:
    exec: {command: [python, -c, "import time; time.sleep(5)"]}
{{- end -}}

{{/* Flags of leader election: (dict "root" . "component" "scheduler") */}}
{{- define "pyroclast.leaseFlags" -}}
{{- $lease := (index .root.Values .component).lease -}}
- --leader-elect
- {{ printf "--leader-elect-resource-namespace=%s" .root.Release.Namespace | quote }}
- {{ printf "--leader-elect-resource-name=%s" $lease.name | quote }}
- {{ printf "--leader-elect-lease-duration=%s" $lease.duration | quote }}
- {{ printf "--leader-elect-renew-deadline=%s" $lease.renewDeadline | quote }}
- {{ printf "--leader-elect-retry-period=%s" $lease.retryPeriod | quote }}
{{- end -}}

{{/* Flags of metrics, and the mount and volume of their certificate. */}}
{{- define "pyroclast.metricsFlags" -}}
- --enable-metrics
{{- if .Values.metrics.secretName }}
- --metrics-tls-cert-file=/etc/metrics/tls.crt
- --metrics-tls-private-key-file=/etc/metrics/tls.key
{{- end }}
{{- if .Values.metrics.authorization }}
{{- if not .Values.metrics.secretName }}
{{- fail "metrics.authorization needs metrics.secretName: tokens would be sent unencrypted" }}
{{- end }}
- --metrics-authorization
{{- end }}
{{- end -}}

{{/* Whether admission counts new pods in their elastic quotas; empty if not. */}}
{{- define "pyroclast.countsQuotaRequests" -}}
{{- if get .Values.scheduler.featureGates "EnableQuotaAdmission" -}}true{{- end -}}
{{- end -}}

{{/* Flag of feature gates, the same for all, because some affect scheduler, controllers and admission. */}}
{{- define "pyroclast.gatesFlag" -}}
{{- $gates := .Values.scheduler.featureGates -}}
{{- if $gates -}}
{{- $pairs := list -}}
{{- range $gate := keys $gates | sortAlpha -}}
{{- $pairs = append $pairs (printf "%s=%v" $gate (index $gates $gate)) -}}
{{- end -}}
- {{ printf "--feature-gates=%s" (join "," $pairs) | quote }}
{{- end -}}
{{- end -}}

{{/* Whether a feature gate is on, as "true" or nothing: (dict "root" . "gate" "Name" "stage" "AllAlpha", "default" false).
     A gate by its own name outranks those of its stage. */}}
{{- define "pyroclast.gate" -}}
{{- $gates := .root.Values.scheduler.featureGates -}}
{{- $is := .default -}}
{{- range $name := list .stage .gate -}}
{{- if hasKey $gates $name }}{{ $is = index $gates $name }}{{ end -}}
{{- end -}}
{{- if $is }}true{{ end -}}
{{- end -}}

{{/* Flags, mounts and volumes of the component that serves webhooks. */}}
{{- define "pyroclast.admissionFlags" -}}
- --enable-admission
- {{ printf "--admission-address=:%v" .Values.admission.port | quote }}
- {{ printf "--webhook-namespace=%s" .Release.Namespace | quote }}
- {{ printf "--webhook-service-name=%s-admission" (include "pyroclast.fullname" .) | quote }}
{{- if .Values.admission.certManager.enabled }}
- --admission-tls-cert-file=/etc/admission/tls.crt
- --admission-tls-private-key-file=/etc/admission/tls.key
- --admission-ca-cert-file=/etc/admission/ca.crt
- --admission-configuration=
{{- else }}
- {{ printf "--admission-secret=%s-admission" (include "pyroclast.fullname" .) | quote }}
- {{ printf "--admission-configuration=%s-admission" (include "pyroclast.fullname" .) | quote }}
{{- end }}
{{- if .Values.admission.checkQuotaLabels }}
- --admission-check-quota-labels
{{- end }}
{{- if .Values.admission.allowNodeName }}
- --admission-allow-node-name
{{- end }}
{{- if .Values.admission.config }}
- --admission-conf=/etc/resource-groups/volcano-admission.conf
{{- end }}
{{- if .Values.admission.clientCA.configMap }}
- {{ printf "--admission-client-ca-file=/etc/admission-clients/%s" .Values.admission.clientCA.key | quote }}
{{- with .Values.admission.clientCA.names }}
- {{ printf "--admission-client-names=%s" (join "," .) | quote }}
{{- end }}
{{- else if .Values.admission.clientCA.names }}
{{- fail "admission.clientCA.names needs admission.clientCA.configMap: names are verified only with an authority" }}
{{- end }}
{{- end -}}

{{- define "pyroclast.admissionMounts" -}}
{{- if .Values.admission.certManager.enabled }}
- {name: admission-tls, mountPath: /etc/admission, readOnly: true}
{{- end }}
{{- if .Values.admission.config }}
# the whole folder, because a file mounted by subPath is never updated
- {name: resource-groups, mountPath: /etc/resource-groups, readOnly: true}
{{- end }}
{{- if .Values.admission.clientCA.configMap }}
- {name: admission-clients, mountPath: /etc/admission-clients, readOnly: true}
{{- end }}
{{- end -}}

{{- define "pyroclast.admissionVolumes" -}}
{{- if .Values.admission.certManager.enabled }}
- name: admission-tls
  secret:
    secretName: {{ printf "%s-admission" (include "pyroclast.fullname" .) | quote }}
    defaultMode: 0440
{{- end }}
{{- if .Values.admission.config }}
- name: resource-groups
  configMap:
    name: {{ printf "%s-admission" (include "pyroclast.fullname" .) | quote }}
{{- end }}
{{- with .Values.admission.clientCA.configMap }}
- name: admission-clients
  configMap:
    name: {{ . | quote }}
{{- end }}
{{- end -}}

{{- define "pyroclast.sshKeyRule" -}}
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, create, patch, delete]
{{- end -}}

{{/* Rights on webhook certificates: rules of a ClusterRole and of a Role. */}}
{{- define "pyroclast.admissionClusterRules" -}}
# a namespace that is newer than the watch
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get]
{{- if not .Values.admission.certManager.enabled }}
# the caBundle of the webhook configurations
- apiGroups: [admissionregistration.k8s.io]
  resources: [mutatingwebhookconfigurations, validatingwebhookconfigurations]
  resourceNames: [{{ printf "%s-admission" (include "pyroclast.fullname" .) | quote }}]
  verbs: [get, patch]
{{- end }}
{{- end -}}

{{- define "pyroclast.admissionRules" -}}
{{- if not .Values.admission.certManager.enabled }}
# the shared certificates of the webhooks; creation cannot be limited to a name
- apiGroups: [""]
  resources: [secrets]
  verbs: [create]
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [{{ printf "%s-admission" (include "pyroclast.fullname" .) | quote }}]
  verbs: [get, update]
{{- end }}
{{- end -}}

{{- define "pyroclast.metricsMount" -}}
{{- if .Values.metrics.secretName }}
- {name: metrics-tls, mountPath: /etc/metrics, readOnly: true}
{{- end }}
{{- end -}}

{{- define "pyroclast.metricsVolume" -}}
{{- with .Values.metrics.secretName }}
- name: metrics-tls
  secret:
    secretName: {{ . | quote }}
    defaultMode: 0440
{{- end }}
{{- end -}}

{{/* Rights for authentication and authorization of clients. */}}
{{- define "pyroclast.reviewRules" -}}
{{- if .Values.metrics.authorization }}
# token and access reviews for metrics
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end }}
{{- end -}}
