package turns

import "testing"

func TestVerify(t *testing.T) {
	sides := []Side{{Who: "own"}, {Who: "exact", Like: "peer"}, {Who: "peer", Name: "the peer"}}
	run := func(digests ...uint64) (w row) {
		for _, d := range digests {
			w.Samples = append(w.Samples, Answer{Digest: d})
		}
		return w
	}
	for name, c := range map[string]struct {
		rows  []row
		error string
	}{
		"equal":       {[]row{run(9, 9), run(1, 2), run(1, 2)}, ""},
		"another":     {[]row{run(9, 9), run(1, 3), run(1, 2)}, "in round 2 it delivered 0x3, the peer 0x2"},
		"peer absent": {[]row{run(9, 9), run(1, 3), run()}, ""},
	} {
		r := result{Rows: c.rows}
		r.verify(sides)
		if got := r.Rows[1].Skip; got != c.error {
			t.Errorf("%s: want the error %q, got %q", name, c.error, got)
		}
		if r.Rows[0].Skip != "" || (c.error == "") != (len(r.Rows[1].Samples) > 0) {
			t.Errorf("%s: want only the samples of an unequal side left out, got %+v", name, r.Rows)
		}
	}
}
