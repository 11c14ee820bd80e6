//go:build bivouac_wheel

package main

// moreSchemes are left out of wheels.
var moreSchemes []string
