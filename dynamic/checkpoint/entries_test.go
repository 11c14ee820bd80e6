package checkpoint_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/dynamic/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
)

func TestEntries(t *testing.T) {
	got, err := checkpoint.Entries(`{"version": 2, "states": {"b": {"state": "s", "type": "RNG"}, "a": {"state": 5}}}`)
	if d := cmp.Diff([]checkpoint.Entry{{Key: "b", State: "s", Type: "RNG"}, {Key: "a", State: "5"}}, got); d != "" ||
		err != nil {
		t.Errorf("%v %s", err, d)
	}
	if _, err := checkpoint.Entries(`{"version": 1, "states": {}}`); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
}

// Text that Go would change as it reads it is refused, and what was there stays: half a
// surrogate pair, which Python writes and keeps, in keys, states and types; other bytes than
// UTF-8. So is a state that Serialize would change.
func TestNoTextIsChanged(t *testing.T) {
	const whole = `{"version": 2, "states": {"a\ud83d\ude00": {"state": "\ud83d\ude00 \\ud800", "type": null}}}`
	for _, bad := range []string{
		`{"version": 2, "states": {"a\ud83d": {"state": "s", "type": null}}}`,
		`{"version": 2, "states": {"a": {"state": "\ude00", "type": null}}}`,
		`{"version": 2, "states": {"a": {"state": ["\ud83d\ud83d\ude00"], "type": null}}}`,
		`{"version": 2, "states": {"a": {"state": "s", "type": "\uDFFF"}}}`,
		"{\"version\": 2, \"states\": {\"a\": {\"state\": \"\xff\", \"type\": null}}}",
	} {
		c := checkpoint.New()
		if err := c.Deserialize(whole); err != nil {
			t.Fatal(err)
		}
		if err := c.Deserialize(bad); !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", bad, err)
		}
		if text, err := c.Serialize(); err != nil || text != whole {
			t.Errorf("behind %s: %s, %v", bad, text, err)
		}
	}
	if list, err := checkpoint.Entries(whole); err != nil || list[0].State != "\U0001F600 \\ud800" {
		t.Errorf("%q, %v", list, err)
	}
}
