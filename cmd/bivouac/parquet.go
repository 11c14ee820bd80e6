//go:build !bivouac_wheel

package main

// Wheels are built without it, because their command may take 30 MB.
import _ "github.com/bivouac-ml/bivouac/reader/parquet" // readers.parquet
