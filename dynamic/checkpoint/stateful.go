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

// Of makes anything with a position something that a checkpoint holds: a pipeline, a
// loader, an external source of one. Its type in the checkpoint is the name of its Go type. Two
// calls with the same object are the same object to Register.
//
// The state in the checkpoint is what AppendState gives, as it is when that is text, and
// else in base64 behind "base64:".
func Of(s state.Stateful) Stateful { return bytesOf{s} }

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

// GetState implements Stateful.
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

// SetState implements Stateful.
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
			return &errs.Error{Kind: errs.Invalid, Op: "checkpoint.SetState", Want: "base64 behind " + encoded, Err: err}
		}
	case []byte:
		s = v
	default:
		return &errs.Error{Kind: errs.Mismatch, Op: "checkpoint.SetState", Want: "text or bytes", Got: fmt.Sprintf("%T", v)}
	}
	return b.object.SetState(s)
}
