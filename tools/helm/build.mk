# Helm and promtool for the tests of the chart, built from their Go modules. The top-level Makefile includes this file.
#
#   make helm       build Helm into the cache; nothing when built
#   make promtool   build promtool there too, without the clients of clouds that it finds targets by: with them it takes
#                   ten minutes of processor time, without four

HELM_VERSION := v3.22.0
PROMTOOL_VERSION := v0.316.0
chart_tools := $(or $(PYROCLAST_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/pyroclast)
helm_binary := $(chart_tools)/helm/$(HELM_VERSION)/helm
promtool_binary := $(chart_tools)/promtool/$(PROMTOOL_VERSION)/promtool

# Without these Helm believes to speak to a Kubernetes of long ago.
helm_link := -s -w \
	-X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=36 \
	-X helm.sh/helm/v3/pkg/lint/rules.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor=36 \
	-X helm.sh/helm/v3/internal/version.version=$(HELM_VERSION)

.PHONY: helm
helm: $(helm_binary)

.PHONY: promtool
promtool: $(promtool_binary)

$(helm_binary):
	GOBIN='$(@D)' CGO_ENABLED=0 GOGC=$${GOGC:-400} go install -trimpath -ldflags '$(helm_link)' helm.sh/helm/v3/cmd/helm@$(HELM_VERSION)

$(promtool_binary):
	GOBIN='$(@D)' CGO_ENABLED=0 GOGC=$${GOGC:-400} go install -trimpath -tags remove_all_sd -ldflags '-s -w' \
		github.com/prometheus/prometheus/cmd/promtool@$(PROMTOOL_VERSION)
