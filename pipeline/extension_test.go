package pipeline_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/pipeline"
)

// changed returns a state of which change has changed the extension.
func changed(t *testing.T, st []byte, change func(doc, x map[string]any)) []byte {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(st, &doc); err != nil {
		t.Fatal(err)
	}
	doc["version"] = 1 // without a checksum, which would refuse all changes alike
	delete(doc, "checksum")
	extra, _ := doc["extra"].(map[string]any)
	x, _ := extra["pipeline"].(map[string]any)
	change(doc, x)
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDamagedExtension(t *testing.T) {
	p := start(t, pipeline.Options{BatchSize: 2}, external(pipeline.From(&reading{}), pipeline.SourceOptions{Name: "s"}))
	run(t, p, 6)
	st := save(t, p)
	for name, change := range map[string]func(doc, x map[string]any){
		"epoch begins later": func(_, x map[string]any) { x["first"] = 13 },
		"negative":           func(_, x map[string]any) { x["first"] = -1 },
		"no extension":       func(doc, _ map[string]any) { delete(doc, "extra") },
		"no state":           func(_, x map[string]any) { delete(x, "sources") },
		"another source":     func(_, x map[string]any) { x["sources"] = map[string]any{"other": "AAAA"} },
		"bad state":          func(_, x map[string]any) { x["sources"] = map[string]any{"s": "AAAAAAAAAAAA"} },
		"faults of nothing":  func(_, x map[string]any) { x["faults"] = map[string]any{"count": 0, "last": []any{map[string]any{}}} },
		"too many faults": func(_, x map[string]any) {
			x["faults"] = map[string]any{"count": 999, "last": slices.Repeat([]any{map[string]any{}}, 257)}
		},
	} {
		if err := p.SetState(changed(t, st, change)); err == nil {
			t.Errorf("%s: taken", name)
		}
		if again := save(t, p); string(again) != string(st) {
			t.Errorf("%s: a refused state moved the pipeline to\n%s", name, again)
		}
	}
	if err := p.SetState(st); err != nil {
		t.Error(err)
	}
}
