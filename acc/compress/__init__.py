"""Compress: compressors propose the next state."""

from acc.compress.model import as_compressor
from acc.compress.protocol import Compressor, Price, wire_schema

__all__ = ["Compressor", "Price", "as_compressor", "wire_schema"]
