"""What a step's `module` names: a file of the domain's own package, wherever the domain root lies.

A Git checkout spells it `domains.<domain>.transforms.<name>`, a domain's own repository `transforms.<name>`. Both
mean `transforms/<name>.py` from the domain root, also in a synced copy whose folder has another name.
"""

from __future__ import annotations

__all__ = ["PACKAGE", "module_files", "package_of"]

#: The one folder of a domain that holds code, beside sql/ and expectations/.
PACKAGE = "transforms"


def module_files(module: str, domain: str) -> tuple[str, str]:
    """Where the module may be, as paths from the domain root: a file of its own, or a package's `__init__.py`.

    Raises ValueError, whose text continues a sentence that begins with the module's name.
    """
    own = f"domains.{domain}.{PACKAGE}."
    for prefix in (own, f"{PACKAGE}."):
        inside = module.removeprefix(prefix).split(".")
        if module.startswith(prefix) and all(part.isidentifier() for part in inside):
            stem = "/".join((PACKAGE, *inside))
            return f"{stem}.py", f"{stem}/__init__.py"
    parts = module.split(".")
    foreign = len(parts) > 2 and parts[0] == "domains" and parts[1] != domain
    why = f"belongs to domain {parts[1]}, the descriptor to {domain}" if foreign else "is not in the domain's package"
    name = parts[-1] if parts[-1].isidentifier() else "<name>"
    raise ValueError(f"{why}; write {own}{name} for {PACKAGE}/{name}.py")


def package_of(module: str) -> str:
    """The dotted name of the package that holds a module, spelled as its author spells it."""
    return module[: module.index(f"{PACKAGE}.") + len(PACKAGE)]
