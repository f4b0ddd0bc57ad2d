# A real control plane for tests and benchmarks. The top-level Makefile includes this file.
#
#   make kube-apiserver                     build etcd, kube-apiserver and their kin into the cache; nothing when built
#   make kube-apiserver PYROCLAST_CACHE=DIR keep them elsewhere
#
# Recipes that need the binaries depend on kube-apiserver, and run with `KUBEBUILDER_ASSETS="$(kube_apiserver_assets)"`.

kube_apiserver_build := $(dir $(lastword $(MAKEFILE_LIST)))build.sh
kube_apiserver_assets = $(shell PYROCLAST_CACHE='$(PYROCLAST_CACHE)' $(kube_apiserver_build) --where)

.PHONY: kube-apiserver
kube-apiserver:
	@assets=$$($(kube_apiserver_build)) && echo "KUBEBUILDER_ASSETS=$$assets"
