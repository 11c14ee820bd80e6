package checkpoint

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/state"
)

// Of adapts an object with a state, such as a pipeline, a loader, or an external source of a
// pipeline, so that a checkpoint can hold it. Its type in the checkpoint is the name of its Go
// type. For Register, the results of two calls with the same s are the same object.
//
// The state in the checkpoint is the result of AppendState. If it is not text, it is written in
// base64 after "base64:".
func Of(s state.Stateful) Object { return bytesOf{s} }

// bytesOf is a state.Stateful whose state is text.
type bytesOf struct{ object state.Stateful }

const encoded = "base64:"

// CheckpointType implements Typed.
func (b bytesOf) CheckpointType() string {
	if t, ok := b.object.(Typed); ok {
		return t.CheckpointType()
	}
	return typeNameOf(reflect.TypeOf(b.object))
}

// GetState implements Object.
func (b bytesOf) GetState() (any, error) {
	s, err := b.object.AppendState(nil)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(s) || strings.HasPrefix(string(s), encoded) {
		return encoded + base64.StdEncoding.EncodeToString(s), nil
	}
	return string(s), nil
}

// SetState implements Object.
func (b bytesOf) SetState(v any) error {
	var s []byte
	switch v := v.(type) {
	case string:
		text, ok := strings.CutPrefix(v, encoded)
		if !ok {
			s = []byte(v)
			break
		}
		var err error
		if s, err = base64.StdEncoding.Strict().DecodeString(text); err != nil {
			return &errs.Error{Kind: errs.Invalid, Op: "checkpoint.SetState", Want: "base64 after " + encoded, Err: err}
		}
	case []byte:
		s = v
	default:
		return &errs.Error{Kind: errs.Mismatch, Op: "checkpoint.SetState", Want: "text or bytes", Got: fmt.Sprintf("%T", v)}
	}
	return b.object.SetState(s)
}
