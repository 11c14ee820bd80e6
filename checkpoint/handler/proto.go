package handler

import (
	"bytes"
	"context"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/provided"
	"github.com/bivouac-ml/bivouac/errs"
)

// ProtoText is a protocol buffer message in text form, for programs that do not link the protocol
// buffer library.
type ProtoText []byte

// messageCodec turns messages into text and back. Package protohandler provides one in its init
// function.
type messageCodec interface {
	// IsMessage reports whether v is a message, or a nil pointer of a message type.
	IsMessage(v any) bool
	// Marshal returns the text form of a message.
	Marshal(v any) ([]byte, error)
	// Unmarshal returns a new message of the type of abstract.
	Unmarshal(text []byte, abstract any) (any, error)
}

// codecOf returns the codec for v, or nil.
func codecOf(v any) messageCodec {
	if c, ok := provided.Part(provided.Messages).(messageCodec); ok && c.IsMessage(v) {
		return c
	}
	return nil
}

func isMessage(v any) bool {
	_, text := v.(ProtoText)
	return text || codecOf(v) != nil
}

// protoFile is the name of the file of a message.
const protoFile = "proto.pbtxt"

// Proto handles messages in text form: ProtoText, and proto.Message if package protohandler is
// imported. If the abstract value is nil or a ProtoText, it loads the text. If it is a message, it
// loads a message of the same type.
type Proto struct{}

// TypeString returns TypeProto.
func (Proto) TypeString() string { return TypeProto }

// Handles reports whether v is a message.
func (Proto) Handles(v any) bool { return isMessage(v) }

// HandlesAbstract returns Yes for messages.
func (Proto) HandlesAbstract(a any) Verdict {
	if isMessage(a) {
		return Yes
	}
	return No
}

// Save encodes v.
func (Proto) Save(_ context.Context, v any) (Commit, error) {
	text, ok := v.(ProtoText)
	b := bytes.Clone(text)
	if !ok {
		c := codecOf(v)
		if c == nil {
			return nil, wrongMessage("handler.Proto.Save", v)
		}
		var err error
		if b, err = c.Marshal(v); err != nil {
			return nil, errs.Wrap("handler.Proto.Save", "", err)
		}
	}
	return func(ctx context.Context, dir Writer) error { return dir.Put(ctx, protoFile, b) }, nil
}

// Load reads the text and decodes it if abstract is a message.
func (Proto) Load(ctx context.Context, dir Reader, abstract any) (any, error) {
	_, text := abstract.(ProtoText)
	c := codecOf(abstract)
	if abstract != nil && !text && c == nil {
		return nil, wrongMessage("handler.Proto.Load", abstract)
	}
	b, err := dir.ReadFile(ctx, protoFile)
	if err != nil {
		return nil, errs.Wrap("handler.Proto.Load", "", err)
	}
	if c == nil {
		return ProtoText(b), nil
	}
	m, err := c.Unmarshal(b, abstract)
	return m, errs.Wrap("handler.Proto.Load", protoFile, err)
}

// Metadata returns an empty ProtoText: the text of a message does not name its type.
func (Proto) Metadata(context.Context, Reader) (any, error) { return ProtoText{}, nil }

func wrongMessage(op string, v any) error {
	err := wrongType(op, "a handler.ProtoText or a message", v)
	err.(*errs.Error).Remedy = "import package checkpoint/handler/protohandler for proto.Message"
	return err
}
