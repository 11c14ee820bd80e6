package torchdata

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"github.com/bivouac-ml/bivouac/errs"
)

// encodedTensor is a tensor in a state: its bytes, little-endian, in hex.
type encodedTensor struct {
	DType string  `json:"tensor"`
	Shape []int64 `json:"shape"`
	Hex   *string `json:"hex"`
}

// EncodeGenerator returns the state of a generator in the form that states have: the tensor of
// 5,056 bytes that get_state returns.
func EncodeGenerator(g *Generator) (json.RawMessage, error) {
	b, err := g.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return json.Marshal(encodedTensor{DType: "uint8", Shape: []int64{StateSize}, Hex: new(hex.EncodeToString(b))})
}

// DecodeGenerator is the inverse of EncodeGenerator. The error is of kind errs.Corrupt.
func DecodeGenerator(raw json.RawMessage) (Generator, error) {
	const op = "torchdata.DecodeGenerator"
	var t encodedTensor
	if err := decode(op, raw, &t); err != nil {
		return Generator{}, err
	}
	if t.DType != "uint8" || len(t.Shape) != 1 || t.Shape[0] != StateSize || t.Hex == nil {
		return Generator{}, &errs.Error{Kind: errs.Corrupt, Op: op,
			Want: fmt.Sprint("a tensor of ", StateSize, " uint8 in hex"), Got: clip(raw)}
	}
	b, err := hex.DecodeString(*t.Hex)
	if err != nil {
		return Generator{}, &errs.Error{Kind: errs.Corrupt, Op: op, Want: "hex", Err: err}
	}
	var g Generator
	return g, g.UnmarshalBinary(b)
}

// embed returns the state of a user's value as JSON: unchanged if it is JSON, else as bytes.
func embed(b []byte) json.RawMessage {
	if json.Valid(b) {
		return json.RawMessage(b)
	}
	raw, err := json.Marshal(map[string]string{"bytes": hex.EncodeToString(b)})
	if err != nil {
		panic(err) // a string always marshals
	}
	return raw
}

// extract is the inverse of embed.
func extract(raw json.RawMessage) ([]byte, error) {
	var wrapped map[string]json.RawMessage
	var text string
	if json.Unmarshal(raw, &wrapped) != nil || len(wrapped) != 1 || json.Unmarshal(wrapped["bytes"], &text) != nil {
		return raw, nil
	}
	b, err := hex.DecodeString(text)
	if err != nil {
		return nil, &errs.Error{Kind: errs.Corrupt, Op: "torchdata.SetState", Subject: "bytes", Want: "hex", Err: err}
	}
	return b, nil
}

// decode reads a part of a state. It ignores unknown members, as torchdata does. The error is of
// kind errs.Corrupt.
func decode(op string, b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	err := d.Decode(into)
	if err == nil {
		if _, err = d.Token(); err == io.EOF {
			return nil
		}
		err = fmt.Errorf("more follows the document")
	}
	return &errs.Error{Kind: errs.Corrupt, Op: op, Want: "a state of torchdata in JSON", Got: clip(b), Err: err}
}

func appendJSON(dst []byte, v any) ([]byte, error) {
	b, err := json.Marshal(v)
	return append(dst, b...), err
}

// clip shortens a document for a message.
func clip(b []byte) string {
	const most = 80
	if len(b) > most {
		return string(b[:most]) + "…"
	}
	return string(b)
}

func jsonText(v any) string           { return fmt.Sprint(v) }
func countWant(most int64) string     { return fmt.Sprintf("0 to %d", most) }
func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }
