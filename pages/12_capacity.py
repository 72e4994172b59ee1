"""The KV capacity calculator."""

from view.kv_calculator import calculator

calculator()
