package protohandler_test

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	_ "github.com/bivouac-ml/bivouac/checkpoint/handler/protohandler"
	"github.com/bivouac-ml/bivouac/errs"
)

func TestMessages(t *testing.T) {
	ctx := t.Context()
	m := wrapperspb.String("a \"quoted\" text")
	h, err := handler.Global().ForSave("config", m)
	if err != nil || h.TypeString() != handler.TypeProto {
		t.Fatalf("%v, %v", h, err)
	}
	commit, err := h.Save(ctx, m)
	if err != nil {
		t.Fatal(err)
	}
	want := proto.Clone(m)
	m.Value = "changed after Save"
	dir := &handler.Memory{}
	if err := handler.Run(ctx, commit, dir); err != nil {
		t.Fatal(err)
	}
	for _, abstract := range []any{&wrapperspb.StringValue{}, (*wrapperspb.StringValue)(nil),
		wrapperspb.String("not used")} {
		h, err := handler.Global().ForLoad("config", abstract, handler.TypeProto)
		if err != nil {
			t.Fatal(err)
		}
		got, err := h.Load(ctx, dir, abstract)
		if err != nil || !proto.Equal(got.(proto.Message), want) || got == abstract {
			t.Errorf("%v, %v", got, err)
		}
	}
	if _, err := h.Load(ctx, dir, &durationpb.Duration{}); !errors.Is(err, errs.Mismatch) {
		t.Errorf("another type of message: %v", err)
	}
	if _, err := h.Save(ctx, (*wrapperspb.StringValue)(nil)); !errors.Is(err, errs.Invalid) {
		t.Errorf("a nil message: %v", err)
	}
	if text, err := h.Load(ctx, dir, nil); err != nil || len(text.(handler.ProtoText)) == 0 {
		t.Errorf("%v, %v", text, err)
	}
	if (handler.Tree{}).Handles(m) || (handler.JSON{}).Handles(m) {
		t.Error("a message is taken for a tree or JSON")
	}
}
