// Package protohandler makes handler.Proto save and load proto.Message. Import it for this effect:
//
//	import _ "github.com/bivouac-ml/bivouac/checkpoint/handler/protohandler"
//
// Messages are saved in text form, as the ProtoHandler of Orbax saves them. To load a message, give
// a message of its type as the abstract value. It may be nil: (*T)(nil).
package protohandler

import (
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/provided"
	"github.com/bivouac-ml/bivouac/errs"
)

func init() { provided.Enter(provided.Messages, codec{}) }

type codec struct{}

func (codec) IsMessage(v any) bool {
	_, ok := v.(proto.Message)
	return ok
}

func (codec) Marshal(v any) ([]byte, error) {
	m := v.(proto.Message)
	if !m.ProtoReflect().IsValid() {
		return nil, &errs.Error{Kind: errs.Invalid, Want: "a message",
			Got: "a nil " + string(m.ProtoReflect().Descriptor().FullName())}
	}
	return prototext.MarshalOptions{Multiline: true}.Marshal(m)
}

func (codec) Unmarshal(text []byte, abstract any) (any, error) {
	m := abstract.(proto.Message).ProtoReflect().New().Interface()
	if err := prototext.Unmarshal(text, m); err != nil {
		return nil, &errs.Error{Kind: errs.Mismatch, Want: string(m.ProtoReflect().Descriptor().FullName()), Err: err}
	}
	return m, nil
}
