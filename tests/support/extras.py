"""Modules that need an extra, and so cannot be imported where only the package is installed."""

from novarag.integrations.table import ADAPTERS

NEED_EXTRAS = {
    "novarag.integrations.inspect",
    "novarag.integrations.langchain",
    *(row.module for row in ADAPTERS.values() if row.extra),
    "novarag.sft.train.engine",
    "novarag.sft.train.losses",
    "novarag.sft.train.shared",
}
