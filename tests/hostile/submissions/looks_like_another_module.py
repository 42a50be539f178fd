"""Replaces itself by another module while it is imported."""
import types
other = types.ModuleType(__name__)
other.total = lambda numbers: 5
sys.modules[__name__] = other
