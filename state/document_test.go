package state

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
)

func sample() Document {
	return Document{
		Version: 1, Kind: "pipeline", Position: math.MaxInt64, Epoch: 2, Batch: 3,
		Fingerprint: "f0", Config: "c0", Digest: "d0",
		Fields: map[string]string{"seed": "7", "node <crop>": "area ≥ 0.8"},
		Extra:  map[string]json.RawMessage{"skipped": json.RawMessage(` [ 1.50, 9007199254740993 ] `)},
	}
}

const golden = `{"batch":3,"config":"c0","digest":"d0","epoch":2,"extra":{"skipped":[1.5,9007199254740993]},` +
	`"fields":{"node <crop>":"area ≥ 0.8","seed":"7"},"fingerprint":"f0","kind":"pipeline","position":9223372036854775807,"version":1}`

func TestDocumentGolden(t *testing.T) {
	b, err := sample().Marshal()
	if diff := cmp.Diff(golden, string(b)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	d, err := Unmarshal([]byte(golden))
	if err != nil {
		t.Fatal(err)
	}
	want := sample()
	want.Extra["skipped"] = json.RawMessage("[1.5,9007199254740993]")
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
	b, err = Document{Version: 1, Kind: "k"}.Marshal()
	if string(b) != `{"kind":"k","position":0,"version":1}` || err != nil {
		t.Errorf("%s, %v", b, err)
	}
}

func genDocument() *rapid.Generator[Document] {
	return rapid.Custom(func(t *rapid.T) Document {
		count := rapid.Int64Range(0, math.MaxInt64)
		d := Document{
			Version: rapid.IntRange(1, Version).Draw(t, "version"), Kind: rapid.StringN(1, 9, -1).Draw(t, "kind"), Position: count.Draw(t, "position"),
			Epoch: count.Draw(t, "epoch"), Batch: count.Draw(t, "batch"),
			Fingerprint: rapid.String().Draw(t, "fingerprint"), Config: rapid.String().Draw(t, "config"), Digest: rapid.String().Draw(t, "digest"),
		}
		if fields := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "fields"); len(fields) > 0 {
			d.Fields = fields
		}
		if extra := rapid.MapOf(rapid.String(), rapid.Float64()).Draw(t, "extra"); len(extra) > 0 {
			d.Extra = map[string]json.RawMessage{}
			for k, v := range extra {
				b, err := json.Marshal(v)
				if err != nil {
					continue
				}
				d.Extra[k] = b
			}
		}
		return d
	})
}

func TestDocumentLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := genDocument().Draw(t, "document")
		b, err := d.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Unmarshal(b)
		if err != nil {
			t.Fatal(err)
		}
		again, err := back.Marshal()
		if err != nil || string(again) != string(b) {
			t.Fatalf("%s, %v", again, err)
		}
		if c, err := Canonical(b); err != nil || string(c) != string(b) {
			t.Fatalf("not canonical: %s, %v", c, err)
		}
		if err := back.Check(d); err != nil {
			t.Fatal(err)
		}
		var byJSON map[string]any
		if err := json.Unmarshal(b, &byJSON); err != nil || byJSON["kind"] != d.Kind {
			t.Fatalf("package json reads %q, %v", byJSON["kind"], err)
		}
	})
}

func TestUnmarshalErrors(t *testing.T) {
	for _, c := range []struct {
		json    string
		kind    errs.Kind
		mention string
	}{
		{``, errs.Corrupt, "JSON"},
		{`[]`, errs.Corrupt, "an array"},
		{`null`, errs.Corrupt, "null"},
		{golden[:len(golden)-1], errs.Corrupt, "JSON"},
		{golden + ` x`, errs.Corrupt, "after"},
		{golden + golden, errs.Corrupt, "after"},
		{`{"kind":"k","position":0}`, errs.Corrupt, "version"},
		{`{"kind":"k","version":1}`, errs.Corrupt, "position"},
		{`{"position":0,"version":1}`, errs.Corrupt, "kind"},
		{`{"kind":"","position":0,"version":1}`, errs.Corrupt, "kind"},
		{`{"kind":7,"position":0,"version":1}`, errs.Corrupt, "kind"},
		{`{"kind":"k","position":-1,"version":1}`, errs.Corrupt, "position"},
		{`{"kind":"k","position":1.5,"version":1}`, errs.Corrupt, "1.5"},
		{`{"kind":"k","position":9223372036854775808,"version":1}`, errs.Corrupt, "position"},
		{`{"kind":"k","position":"1","version":1}`, errs.Corrupt, "position"},
		{`{"kind":"k","position":null,"version":1}`, errs.Corrupt, "null"},
		{`{"kind":"k","position":0,"position":0,"version":1}`, errs.Corrupt, "twice"},
		{`{"kind":"k","Position":0,"position":0,"version":1}`, errs.Corrupt, "Position"},
		{`{"kind":"k","position":0,"version":1,"fields":{"a":1}}`, errs.Corrupt, "fields.a"},
		{`{"kind":"k","position":0,"version":1,"fields":[]}`, errs.Corrupt, "fields"},
		{`{"kind":"k","position":0,"version":1,"epoch":-1}`, errs.Corrupt, "epoch"},
		{`{"kind":"k","position":0,"version":1,"batch":-1}`, errs.Corrupt, "batch"},
		{`{"kind":"k","position":0,"version":0}`, errs.Corrupt, "version"},
		{`{"kind":"k","position":0,"version":3,"new":{}}`, errs.Unsupported, "newer"},
		{`{"kind":"k","position":0,"version":2}`, errs.Corrupt, "checksum"},
		{`{"checksum":7,"kind":"k","position":0,"version":2}`, errs.Corrupt, "checksum"},
		{`{"checksum":"00000000","kind":"k","position":0,"version":2}`, errs.Corrupt, "checksum"},
		{`{"checksum":"00000000","kind":"k","position":0,"version":1}`, errs.Corrupt, "checksum"},
	} {
		d, err := Unmarshal([]byte(c.json))
		if errs.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.mention) || d.Kind != "" {
			t.Errorf("%.60s: %v", c.json, err)
		}
	}
}

func TestMarshalErrors(t *testing.T) {
	for name, spoil := range map[string]func(*Document){
		"version":  func(d *Document) { d.Version = 3 },
		"kind":     func(d *Document) { d.Kind = "" },
		"position": func(d *Document) { d.Position = -1 },
		"utf-8":    func(d *Document) { d.Fields["x"] = "\xff" },
		"extra":    func(d *Document) { d.Extra["x"] = json.RawMessage("{") },
		"twice":    func(d *Document) { d.Extra["x"] = json.RawMessage(`{"a":1,"a":2}`) },
		"name":     func(d *Document) { d.Extra["\xff"] = json.RawMessage(`1`) },
	} {
		d := sample()
		spoil(&d)
		if _, err := d.Marshal(); errs.KindOf(err) != errs.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Document)
		want   string
	}{
		{"informative", func(d *Document) { d.Epoch, d.Batch, d.Position, d.Digest, d.Extra = 9, 9, 9, "", nil }, ""},
		{"kind", func(d *Document) { d.Kind = "loader" }, "kind: mismatch: want pipeline, got loader"},
		{"data", func(d *Document) { d.Fingerprint = "" }, `data set fingerprint: mismatch: want f0, got ""`},
		{"field", func(d *Document) { d.Fields["seed"], d.Config = "8", "c1" }, "seed: mismatch: want 7, got 8 ("},
		{"new field", func(d *Document) { d.Fields["x"] = "1" }, "x: mismatch: want none, got 1"},
		{"no fields", func(d *Document) { d.Fields = nil }, `node <crop>: mismatch: want "area ≥ 0.8", got none: and seed (want 7, got none)`},
		{"config", func(d *Document) { d.Config = "c1" }, "config: mismatch: want c0, got c1"},
		{"all", func(d *Document) {
			*d = Document{Kind: "pipeline", Fingerprint: "f1", Fields: map[string]string{"seed": "8"}}
		},
			"data set fingerprint: mismatch: want f0, got f1: and node <crop> (want \"area ≥ 0.8\", got none), seed (want 7, got 8)"},
	} {
		got := sample()
		c.change(&got)
		err := got.Check(sample())
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(golden))
	f.Add([]byte(`{"kind":"k","position":0,"version":1,"extra":{"a":[1e400,"\ud800"]}}`))
	f.Add([]byte(`{"a":` + strings.Repeat("[", 200)))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := Unmarshal(b)
		if err != nil {
			if k := errs.KindOf(err); k != errs.Corrupt && k != errs.Unsupported {
				t.Fatalf("%v is of kind %v", err, k)
			}
			return
		}
		first, err := d.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		d, err = Unmarshal(first)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := d.Marshal(); err != nil || string(first) != string(second) {
			t.Fatalf("%s\n%s\n%v", first, second, err)
		}
	})
}
