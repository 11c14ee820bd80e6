package timeline_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/timeline"
	"github.com/bivouac-ml/bivouac/state"
)

// RanksOf reads which ranks go on, and refuses what no loader writes.
func TestRanksOf(t *testing.T) {
	const iterable = `"fields":{"data":"iterable"},`
	for _, c := range []struct {
		fields, extra string
		want          timeline.Ranks
	}{
		{"", `{}`, timeline.Ranks{}},
		{"", `{"world":4}`, timeline.Ranks{}},
		{"", `{"rank":1,"world":4,"unknown":[]}`, timeline.Ranks{Own: true, Rank: 1, World: 4}},
		{"", `{"rank":0,"window":{"bits":"01","global":2,"world":2},"world":3}`, timeline.Ranks{Own: true, World: 3}},
		{"", `{"window":{"bits":"01","global":2,"world":1}}`, timeline.Ranks{}},
		{"", `{"window":{"bits":"01","global":2,"world":2}}`, timeline.Ranks{World: 2}},
		{iterable, `{"world":2}`, timeline.Ranks{Iterable: true}},
		{iterable, `{"window":{"bits":"01","global":2,"world":2}}`, timeline.Ranks{Iterable: true}},
		{iterable, `{"rank":2,"world":3}`, timeline.Ranks{Own: true, Rank: 2, World: 3, Iterable: true}},
	} {
		text := fmt.Appendf(nil, `{"extra":%s,%s"kind":"loader","position":0,"version":1}`, c.extra, c.fields)
		doc, err := state.Unmarshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := timeline.RanksOf(doc); err != nil || got != c.want {
			t.Errorf("%s%s: %+v, %v, want %+v", c.fields, c.extra, got, err, c.want)
		}
	}
	for text, want := range map[string]errs.Kind{
		`{"kind":"pipeline","position":0,"version":1}`:                      errs.Unsupported,
		`{"extra":{"rank":"one"},"kind":"loader","position":0,"version":1}`: errs.Corrupt,
	} {
		doc, err := state.Unmarshal([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := timeline.RanksOf(doc); !errors.Is(err, want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
