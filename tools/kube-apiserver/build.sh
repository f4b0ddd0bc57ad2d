#!/bin/sh
# Builds a real control plane for tests and benchmarks: etcd, kube-apiserver, kube-controller-manager, kube-scheduler.
#
#   build.sh          build what is missing, then print the folder on standard output
#   build.sh --where  print the folder only
#
# The binaries go to $PYROCLAST_CACHE/kubebuilder/VERSION (PYROCLAST_CACHE: by default ~/.cache/pyroclast). When
# KUBEBUILDER_ASSETS is set, the folder it names is taken as it is and nothing is built.
# Sources come through the Go module proxy that the environment configures; go.sum pins every byte of them.
set -eu
trap 'exit 130' HUP INT TERM

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
version=$(sed -n 's/^[[:space:]]*k8s\.io\/kubernetes v\([0-9.]*\).*/\1/p' "$here/go.mod")

die() {
    echo "kube-apiserver: $*" >&2
    exit 1
}

if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
    assets=$KUBEBUILDER_ASSETS
else
    assets=${PYROCLAST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pyroclast}/kubebuilder/$version
fi

if [ "${1:-}" = --where ]; then
    echo "$assets"
    exit 0
fi

if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
    for binary in etcd kube-apiserver; do
        [ -x "$assets/$binary" ] || die "KUBEBUILDER_ASSETS is $assets, which holds no $binary: unset it to build one"
    done
    echo "$assets"
    exit 0
fi

# A build that was broken off must not look finished: each binary is built beside its place, then moved there.
build() {
    binary=$1
    package=$2
    [ -x "$assets/$binary" ] && return 0
    require_go
    echo "kube-apiserver: building $binary" >&2
    scratch="$assets/.$binary.$$"
    trap 'rm -f "$scratch"' EXIT
    # collecting garbage less often takes a sixth of the compilers' time away
    (cd "$here" && CGO_ENABLED=0 GOGC="${GOGC:-400}" go build -mod=readonly -trimpath -ldflags "$link" -o "$scratch" "$package") ||
        die "$binary could not be built: see the lines above"
    mv "$scratch" "$assets/$binary"
}

require_go() {
    needed=$(sed -n 's/^go //p' "$here/go.mod")
    command -v go >/dev/null 2>&1 ||
        die "no go on the PATH: install Go $needed or newer, or set KUBEBUILDER_ASSETS to a folder that has the binaries"
    (cd "$here" && go list -m >/dev/null) || die "$(go version) will not do: install Go $needed or newer"
}

# kubectl cannot parse the version of a server that was linked without these.
component=k8s.io/component-base/version
link="-s -w -X $component.gitVersion=v$version -X $component.gitMajor=${version%%.*}"
minor=${version#*.}
link="$link -X $component.gitMinor=${minor%%.*}"

mkdir -p "$assets"
build etcd go.etcd.io/etcd/server/v3
build kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
build kube-controller-manager k8s.io/kubernetes/cmd/kube-controller-manager
build kube-scheduler k8s.io/kubernetes/cmd/kube-scheduler
echo "$assets"
