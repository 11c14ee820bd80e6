package conform

import (
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/proof/conform/orbax"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
)

// Where the policy gives the newest step up, it is there all the same, and the
// report says so; any other step too many is a failure.
func TestReplayOfNewest(t *testing.T) {
	calls := `"save_calls": [
		{"step": 1, "returned": true, "force": false, "metrics": {"loss": 2}, "custom_metadata": null},
		{"step": 2, "returned": true, "force": false, "metrics": {"loss": 3}, "custom_metadata": null},
		{"step": 3, "returned": true, "force": false, "metrics": {"loss": 1}, "custom_metadata": null}]`
	for steps, c := range map[string]struct{ divergence, failure string }{
		"[2]":    {divergence: "step 3 stays"},
		"[2, 3]": {},
		"[1, 2]": {divergence: "step 3 stays", failure: "got [2 3], want [1 2 3]"},
	} {
		m, err := suite.Decode([]byte(`{"steps": ` + steps + `, ` + calls + `}`))
		if err != nil {
			t.Fatal(err)
		}
		r := &suite.Report{Kinds: orbax.Divergences}
		orbax.Replay(t.Context(), r, suite.NewObject(r, "", m),
			training.Options{Save: training.FixedInterval{Steps: 1}, Preserve: training.BestN{Metric: "loss", N: 1}})
		if got := strings.Join(r.Failures, "\n"); (got == "") != (c.failure == "") || !strings.Contains(got, c.failure) {
			t.Errorf("%s: failures %q, want %q", steps, got, c.failure)
		}
		if (r.Divergence == "") != (c.divergence == "") || !strings.Contains(r.Divergence, c.divergence) {
			t.Errorf("%s: divergence %q, want %q", steps, r.Divergence, c.divergence)
		}
	}
}
