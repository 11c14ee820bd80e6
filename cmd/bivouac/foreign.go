package main

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// foreign is a format of another program that is recognised and not read.
type foreign struct {
	name   string
	magic  string
	at     []int64  // where the magic may stand
	ends   []string // of names
	remedy string
}

// convertedBy ends the remedy of a foreign format: the lines of Python stand on that page.
const convertedBy = " converts it to .safetensors: docs/guide/commands.md, \"Files of other programs\""

var foreignFormats = []foreign{
	{name: "an HDF5 file", magic: "\x89HDF\r\n\x1a\n", at: []int64{0, 512, 1024, 2048}, ends: []string{".h5", ".hdf5"},
		remedy: "pip install h5py safetensors" + convertedBy},
	{name: "a GGUF file", magic: "GGUF", at: []int64{0}, ends: []string{".gguf"},
		remedy: "pip install gguf safetensors" + convertedBy},
}

// mostHead is how many bytes of a file are read to recognise it.
const mostHead = 2048 + 8

// recognise returns the format of another program that a file has by its first bytes.
func recognise(ctx context.Context, file string) (foreign, bool) {
	head, err := place(file).read(ctx, mostHead)
	if err != nil {
		return foreign{}, false
	}
	for _, f := range foreignFormats {
		for _, at := range f.at {
			if at < int64(len(head)) && bytes.HasPrefix(head[at:], []byte(f.magic)) {
				return f, true
			}
		}
	}
	return foreign{}, false
}

// noCheckpoint returns the error for a file that is not a checkpoint.
func noCheckpoint(ctx context.Context, file string) error {
	e := &errs.Error{Kind: errs.Invalid, Subject: file,
		Want: "a checkpoint: a directory, or a file .safetensors, .npz, .npy, .pt, .pth, .ckpt or .msgpack",
		Got:  "another file"}
	if f, ok := recognise(ctx, file); ok {
		e.Kind, e.Got, e.Remedy = errs.Unsupported, f.name, f.remedy
		return e
	}
	switch ext := strings.ToLower(filepath.Ext(file)); ext {
	case ".bin":
		e.Got, e.Remedy = "a file "+ext, "if torch.save wrote it, rename it to .pt"
	case ".pkl", ".pickle":
		e.Got, e.Remedy = "a file "+ext, "Bivouac runs no pickle: save it as .safetensors with the program that wrote it"
	case ".h5", ".hdf5", ".gguf":
		e.Got, e.Remedy = "a file "+ext+" without the first bytes of one", "look for the program that wrote it"
	case ".keras":
		e.Got, e.Remedy = "a file "+ext, "unzip "+file+" model.weights.h5 gives an HDF5 file, which h5py converts"
	}
	return e
}

// foreignFiles returns the files of a directory that are of other programs, by their names, and how
// they are converted.
func foreignFiles(list []entry) (files []string, remedy string) {
	for _, d := range list {
		for _, f := range foreignFormats {
			if !d.dir && slices.Contains(f.ends, strings.ToLower(filepath.Ext(d.name))) {
				files, remedy = append(files, d.name), f.remedy
			}
		}
	}
	return files, remedy
}
