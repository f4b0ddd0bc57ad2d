"""Stands in for modules that are being written beside this one; goes when they are there."""
# mypy: ignore-errors
# ruff: noqa

import importlib.util
import sys
import types


def stand_in(name, **members):
    if importlib.util.find_spec(f"emulator.{name}") is None:
        module = types.ModuleType(f"emulator.{name}")
        module.__dict__.update(members)
        sys.modules[f"emulator.{name}"] = module


class UnsupportedProtobuf(Exception):
    pass


class ApplyConflict(Exception):
    conflicts = []


def decode(body):
    raise UnsupportedProtobuf("protobuf")


def merge(a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        return {**a, **{k: merge(a.get(k), v) for k, v in b.items()}}
    return b


def apply(live, applied, **more):
    return merge(live or {}, applied)


def track(before, after, **more):
    return after["metadata"].get("managedFields", [])


stand_in("protobuf", UnsupportedProtobuf=UnsupportedProtobuf, decode=decode)
stand_in("apply", apply=apply, track=track, ApplyConflict=ApplyConflict)
stand_in(
    "tables",
    table_columns=lambda g, r, c: [{"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}],
    table_row=lambda obj, columns, now: [obj["metadata"]["name"]],
)
stand_in("openapi", index=lambda gvs: {"paths": {}}, document=lambda *a: {"openapi": "3.0.0", "paths": {}})
