"""Role memories: several agents, each with a memory of its own, beside one shared conversation."""

from acc.roles.context import Selection, construct_context
from acc.roles.memory import AsyncRoleMemory, RoleMemory
from acc.roles.role import Role

__all__ = ["AsyncRoleMemory", "Role", "RoleMemory", "Selection", "construct_context"]
