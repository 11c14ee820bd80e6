package pipeproto

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/bivouac-ml/bivouac/errs"
)

const layoutKey = "wire"

// MarshalYAML converts a pipeline to YAML; see the package comment. The error is of kind
// errs.Invalid if the text would not read back as the same pipeline, which happens for a pipeline
// that Parse would refuse, and for more than 16 MiB of text.
func MarshalYAML(p *Pipeline) ([]byte, error) {
	text, err := yaml.Marshal(printer{}.message(pipelines.Schema(), reflect.ValueOf(p).Elem()))
	if err != nil {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "pipeproto.MarshalYAML", Err: err}
	}
	again, err := UnmarshalYAML(text)
	if err != nil {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "pipeproto.MarshalYAML", Err: err}
	}
	if !bytes.Equal(Append(nil, again), Append(nil, p)) {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "pipeproto.MarshalYAML",
			Got: "a pipeline that does not read back from YAML"}
	}
	return text, nil
}

// maxText bounds the text, and so the memory of its nodes, which take up to a hundred times as
// much. A usual operator takes 1 KiB.
const maxText = 16 << 20

// UnmarshalYAML reads text that MarshalYAML or a person wrote. The text has one document without
// aliases. Errors are of kind errs.Invalid and name the line, or of kind errs.Exhausted for more
// than 16 MiB. UnmarshalYAML also fails in the same cases as Parse.
func UnmarshalYAML(text []byte) (*Pipeline, error) {
	const op = "pipeproto.UnmarshalYAML"
	if len(text) > maxText {
		return nil, &errs.Error{Kind: errs.Exhausted, Op: op, Want: "at most " + strconv.Itoa(maxText) + " bytes",
			Got: strconv.Itoa(len(text))}
	}
	var document, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&document); err != nil {
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Want: "a YAML document", Err: err}
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Want: "one document", Got: "more"}
	}
	p := new(Pipeline)
	if err := (reader{}).message(pipelines.Schema(), reflect.ValueOf(p).Elem(), document.Content[0], 1); err != nil {
		return nil, &errs.Error{Op: op, Err: err}
	}
	// Fields that are kept as bytes may have any value; Parse checks them.
	return Parse(Append(nil, p))
}
