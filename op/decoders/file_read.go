package decoders

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "read", Module: []string{"io", "file"},
		Doc:     "Reads files whose paths are the samples. A relative path is relative to the working directory.",
		Inputs:  []op.Port{{Name: "filepaths", Doc: "paths as bytes; a zero byte ends a path", DTypes: []tensor.DType{tensor.Uint8}}},
		Outputs: []op.Port{{Name: "contents", Doc: "the contents, uint8"}},
		Params: []op.Parameter{
			{Name: "dont_use_mmap", Type: op.Bool, Default: false, Tuning: true, Doc: "Whether files are read instead of mapped; has no effect, because files are always read."},
			{Name: "use_o_direct", Type: op.Bool, Default: false, Tuning: true, Doc: "Whether files are read past the cache of the system; has no effect."},
		},
		// The contents of a file may change.
		Stateful: true,
		New:      func(c *op.Config) (op.Kernel, error) { return op.Each(&fileRead{c}), nil },
	})
}

// fileRead is the kernel of io.file.read.
type fileRead struct{ config *op.Config }

// Infer implements op.Kernel.
func (k *fileRead) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	return []tensor.Spec{{DType: tensor.Uint8, Shape: tensor.Shape{-1}}}, checkEncoded(k.config, in[0])
}

// Sample implements op.SampleKernel.
func (k *fileRead) Sample(b *op.Block, s int) error {
	path, _, _ := strings.Cut(string(b.In(0, s).Data), "\x00")
	f, err := os.Open(path)
	if err != nil {
		return fileError(path, err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	info, err := f.Stat()
	if err != nil {
		return fileError(path, err)
	}
	if !info.Mode().IsRegular() {
		return &errs.Error{Kind: errs.Invalid, Subject: path, Want: "a file", Got: info.Mode().Type().String()}
	}
	const largest = 1 << 40
	if info.Size() > largest {
		return &errs.Error{Kind: errs.Exhausted, Subject: path, Want: fmt.Sprintf("at most %d bytes", int64(largest)), Got: fmt.Sprint(info.Size())}
	}
	out := b.Out(0, s, int(info.Size()))
	if _, err := io.ReadFull(f, out.Data); err != nil {
		return fileError(path, err)
	}
	return nil
}

func fileError(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) { // for a name that is not the name of a file
		if other := errs.CheckPath(path); other != nil {
			return other
		}
	}
	kind := errs.IO
	switch {
	case errors.Is(err, fs.ErrNotExist):
		kind = errs.NotFound
	case errors.Is(err, fs.ErrPermission):
		kind = errs.Permission
	}
	return &errs.Error{Kind: kind, Subject: path, Err: err}
}
