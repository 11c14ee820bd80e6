package main

import (
	"os"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/errs"
)

// convertPipeline writes a serialized pipeline in the form that the name of the
// destination says: bytes as DALI's, or YAML.
func convertPipeline(src, dst string, o ConvertOptions, g *global) error {
	if !isPipeline(dst) {
		return usageError{&errs.Error{Kind: errs.Invalid, Op: "convert", Subject: dst, Want: "a name that ends in .yaml, or .bin", Got: "another",
			Remedy: src + " is a serialized pipeline"}}
	}
	p, err := dali.ReadFile(src)
	if err != nil {
		return err
	}
	b, layout := pipeproto.Append(nil, p), "PipelineDef"
	if dali.IsYAML(dst) {
		layout = "YAML"
		if b, err = pipeproto.MarshalYAML(p); err != nil {
			return err
		}
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if o.Overwrite {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(dst, flags, 0o666)
	if os.IsExist(err) {
		return &errs.Error{Kind: errs.Exists, Op: "convert", Subject: dst, Remedy: "choose another path, or give --overwrite"}
	}
	if err == nil {
		_, err = f.Write(b)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}
	if err != nil {
		return &errs.Error{Kind: errs.IO, Op: "convert", Subject: dst, Err: err}
	}
	return reportConversion(g, converted{Source: src, Destination: dst, Layout: layout})
}

// isPipelineFile reports whether path is a file with the name of a serialized pipeline.
func isPipelineFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && isPipeline(path)
}
