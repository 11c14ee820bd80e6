// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package opargs

import (
	"github.com/bivouac-ml/bivouac/op"
)

// ReadersFile are the arguments of readers.file.
type ReadersFile struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Directory with a folder for each class, or what files are relative to.
	FileRoot string `op:"file_root"`

	// Paths of the files, in this order, instead of folders.
	Files []string `op:"files"`

	// Labels of files; by default their index.
	Labels []int `op:"labels"`

	// Patterns of file names, of which one must match. Default: *.jpg *.jpeg *.png *.bmp *.tif *.tiff *.pnm *.ppm
	// *.pgm *.pbm *.jp2 *.webp *.flac *.ogg *.wav.
	FileFilters []string `op:"file_filters"`

	// Patterns of folder names, of which one must match; by default all do.
	DirFilters []string `op:"dir_filters"`

	// Patterns tell upper from lower case. Default: false.
	CaseSensitiveFilter bool `op:"case_sensitive_filter"`

	// Each epoch comes in an order of its own instead of the sorted one. Default: false.
	RandomShuffle bool `op:"random_shuffle"`

	// Seed of the order; -1: that of the pipeline. Default: -1.
	Seed op.Arg[int] `op:"seed"`
}
