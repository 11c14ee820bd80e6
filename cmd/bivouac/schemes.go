//go:build !bivouac_wheel

package main

// Wheels are built without it, because their command may take 30 MB.
import (
	_ "github.com/bivouac-ml/bivouac/store/object/azure" // the scheme az
	_ "github.com/bivouac-ml/bivouac/store/object/gcs"   // the scheme gs
)

// moreSchemes are the schemes that the command in a wheel does not open.
var moreSchemes = []string{"gs", "az"}
