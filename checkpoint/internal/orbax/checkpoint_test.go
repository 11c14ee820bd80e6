package orbax

import (
	"testing"
)

// Members that Orbax 0.12.8 does not know become custom metadata, as in Orbax; where there
// is custom metadata already, Orbax refuses the document and it is read all the same.
func TestUnknownMembersAreCustom(t *testing.T) {
	for _, c := range []struct {
		document, custom string
		refused          int
	}{
		{`{"item_handlers": null, "new": {"a": [1]}, "x": "y"}`, `{"new": {"a": [1]}, "x": "y"}`, 0},
		{`{"custom_metadata": {}, "new": 1}`, `{"new": 1}`, 0},
		{`{"custom_metadata": null, "new": null}`, `{"new": null}`, 0},
		{`{"custom_metadata": {"mine": 2}, "new": 1}`, `{"mine": 2}`, 1},
		{`{"custom_metadata": {"mine": 2}}`, `{"mine": 2}`, 0},
		{`{"init_timestamp_nsecs": 1.5e18}`, ``, 1},
	} {
		m, err := ParseCheckpoint([]byte(c.document))
		if err != nil {
			t.Errorf("%s: %v", c.document, err)
		}
		if string(m.Custom) != c.custom || len(m.Refused) != c.refused {
			t.Errorf("%s: custom %s, refused %q; want %s and %d", c.document, m.Custom, m.Refused, c.custom, c.refused)
		}
	}
}
