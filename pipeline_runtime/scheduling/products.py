"""Which product is made of which: a source that is another descriptor's target, also across domains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline_runtime.descriptor.load import ANY_KINDS, LoadedDescriptor, load
from pipeline_runtime.errors import ConfigurationError

__all__ = ["Product", "find_products", "makers_first", "product_of", "upstream_of"]


@dataclass(frozen=True)
class Product:
    """What the orchestrator needs of one descriptor. `path` is from the repository's top; tables as `<db>.<table>`."""

    path: str
    domain: str
    name: str
    owner: str
    source: str
    target: str
    purpose: str

    @property
    def key(self) -> str:
        """`<domain>/<name>`."""
        return f"{self.domain}/{self.name}"


def find_products(folder: Path) -> tuple[Product, ...]:
    """The descriptors in `domains/*/pipelines/` below the folder, ordered by path.

    Raises DescriptorError for a file that is no descriptor.
    """
    paths = {file: file.relative_to(folder).as_posix() for file in (folder / "domains").glob("*/pipelines/*.y*ml")}
    return tuple(product_of(load(file, ANY_KINDS, paths[file]), paths[file]) for file in sorted(paths))


def upstream_of(products: Sequence[Product]) -> Mapping[Product, Product]:
    """Who makes each product's source, where one of the products is it. A descriptor has one source, so one maker.

    Of two makers of one table the reader's own domain counts: a table of that name in another account is another.
    Raises ConfigurationError where that leaves two, and for a circle.
    """
    found = {product: maker for product in products if (maker := _maker(product, products)) is not None}
    for product in found:
        way = [product]
        while (maker := found.get(way[-1])) is not None:
            if maker in way:
                circle = [*way[way.index(maker) :], maker]
                raise ConfigurationError(f"{' reads '.join(each.key for each in circle)}: none of them can be first")
            way.append(maker)
    return found


def makers_first(products: Sequence[Product]) -> tuple[Product, ...]:
    """The products, each behind what it is made of, and otherwise in their order. Raises as `upstream_of`."""
    makers = upstream_of(products)

    def depth(product: Product) -> int:
        maker = makers.get(product)
        return 0 if maker is None else 1 + depth(maker)

    return tuple(sorted(products, key=depth))


def _maker(product: Product, products: Sequence[Product]) -> Product | None:
    makers = [each for each in products if each.target == product.source]
    own = [each for each in makers if each.domain == product.domain]
    makers = own or makers
    if len(makers) > 1:
        raise ConfigurationError(
            f"{product.path} reads {product.source}, which {' and '.join(each.path for each in makers)} both make"
        )
    return makers[0] if makers else None


def product_of(loaded: LoadedDescriptor, path: str) -> Product:
    """What the descriptor at that path makes."""
    descriptor = loaded.descriptor
    return Product(
        path=path,
        domain=descriptor.metadata.domain,
        name=descriptor.metadata.name,
        owner=descriptor.metadata.owner,
        source=descriptor.source.fqn,
        target=descriptor.target.fqn,
        purpose=descriptor.processing.purpose,
    )
