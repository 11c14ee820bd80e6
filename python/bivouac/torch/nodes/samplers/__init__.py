"""Nodes that choose between other nodes."""
