"""Iterators over pipelines for training loops, with the modules and names of nvidia.dali.plugin."""
