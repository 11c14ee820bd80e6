package conform

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var (
	committedTorchdata = filepath.Join("..", "..", "testdata", "torchdata")
	allTorchdata       = filepath.Join("..", "..", "..", "shared", "vectors", "torchdata")
)

// The excerpt in the repository passes, as do all vectors where they lie beside the
// checkout: nothing fails, nothing is skipped, and what diverges stands in
// divergences.json.
func TestTorchdata(t *testing.T) {
	for _, dir := range []string{committedTorchdata, allTorchdata} {
		if _, err := os.Stat(dir); err != nil {
			t.Log("the full set of scenarios is not beside this checkout")
			continue
		}
		code, out := conform("-suite", "torchdata", dir)
		if code != 0 || !strings.Contains(lastLine(out), " passed, 0 failed, 0 skipped, 16 divergent") {
			t.Errorf("%s: exit %d\n%s", dir, code, out)
		}
	}
}

// Each alteration of what was recorded must be seen.
func TestAlterationsOfScenariosAreSeen(t *testing.T) {
	for name, c := range map[string]struct{ file, old, changed, want string }{
		"batch":           {"S03-map-10-b3-w0-dl0", `"values":[3,4,5]`, `"values":[3,4,6]`, "/batches/1"},
		"batch missing":   {"S03-map-10-b3-w0-dl0", `{"tensor":"int64","shape":[1],"values":[9]}`, `{"tensor":"int64","shape":[1],"values":[8]}`, "/batches/"},
		"shape":           {"S26-collate-tensor-b3", `"shape":[3,2,2]`, `"shape":[2,3,2]`, "/batches/0"},
		"type":            {"S26-collate-numpy_i16-b3", `"int16"`, `"int32"`, "/batches/0"},
		"counter":         {"S03-map-10-b3-w0-dl0", `"_num_yielded":3`, `"_num_yielded":4`, "_num_yielded: 3, want 4"},
		"base seed":       {"S08-map-w1-sh0", `"_base_seed":6909045637428952499`, `"_base_seed":6909045637428952490`, "_base_seed: 6909045637428952499, want 6909045637428952490"},
		"member":          {"S03-map-10-b3-w0-dl0", `"_shared_seed":null`, `"_shared_seeds":null`, "_shared_seed"},
		"worker's state":  {"S14-map_stateful-w4-sh0", `"calls":3`, `"calls":2`, "/calls"},
		"generator":       {"S04-gen42-w4-b4", `"blob":"`, `"blob":"0`, "no blob"},
		"draw":            {"S08-map-w1-sh0", `"value":`, `"value":1`, "/value"},
		"stop":            {"S03-map-10-b3-w0-dl0", `"stop":true`, `"stop":false`, "/stop: true, want false"},
		"error":           {"S16-map-ValueError-w0-n1", `"type":"ValueError"`, `"type":"KeyError"`, `ValueError "failing at 6"`},
		"item":            {"S16-map-ValueError-w2-n1", "failing at 6", "failing at 7", `"failing at 6"`},
		"worker":          {"S16-map-ValueError-w2-n1", "worker process 1", "worker process 0", "does not name worker 0"},
		"no error":        {"S26-arg-bs0", `{"error":{"type":"ValueError","message":"batch_size should be a positive integer value, but got batch_size=0"}}`, `{}`, "failed: "},
		"no refusal":      {"S26-arg-dist-neg", `"rank":-1`, `"rank":1`, "no error, want"},
		"warning":         {"S26-iterlen-7-5-bNone-dl0-w0", "but 6 samples", "but 5 samples", "warnings"},
		"length":          {"S26-grow-w0", `"len":5`, `"len":6`, "/len: 5, want 6"},
		"right":           {"S13-iter-w0-k11", `"next","C",1`, `"next","C",2`, "/batches"},
		"sample":          {"S24-sizes-inorder0", `"sizes":[2,9]`, `"sizes":[2,8]`, "each once"},
		"dead worker":     {"S26-worker-exit", `"exit_at":[2]`, `"exit_at":[]`, "want the end of a worker"},
		"end of a loader": {"S16-iter_iterator-StopIteration-w0-n1", `"fail_at":[6]`, `"fail_at":[8]`, "step "},
		"twin":            {"S16-map-StopIteration-w0-n1", `"fail_at":[6]`, `"fail_at":[8]`, "step "},
		"node":            {"S27-mapstyle-9", `"v3"`, `"v4"`, "/batches/"},
		"node's state":    {"S27-mapstyle-9", `"_epoch":1`, `"_epoch":2`, "_epoch: 1, want 2"},
		"unknown member":  {"S27-mapstyle-9", `"global_seed"`, `"surprise":1,"global_seed"`, "surprise"},
		"unknown dataset": {"S26-grow-w0", `"n":4`, `"n":4,"surprise":1`, "surprise"},
		"unknown entry":   {"S26-grow-w0", `"grow","A"`, `"shrink","A"`, `unknown entry "shrink"`},
	} {
		t.Run(name, func(t *testing.T) {
			out := alteredScenario(t, c.file, c.old, c.changed)
			if !strings.Contains(out, "FAIL") || !strings.Contains(out, c.want) {
				t.Errorf("want a failure with %q:\n%s", c.want, out)
			}
		})
	}
}

// alteredScenario runs a scenario in which a text is replaced everywhere.
func alteredScenario(t *testing.T, name, old, changed string) string {
	t.Helper()
	dir := t.TempDir()
	for _, file := range []string{name, strings.Replace(name, "-StopIteration-", "-ValueError-", 1), "blobs", "divergences"} {
		b, err := os.ReadFile(filepath.Join(committedTorchdata, file+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if file == name {
			compact := strings.NewReplacer(`": `, `":`, `, `, `,`).Replace(string(b))
			if strings.Contains(string(b), old) {
				compact = string(b)
			}
			if !strings.Contains(compact, old) {
				t.Fatalf("%s does not contain %s", name, old)
			}
			b = []byte(strings.ReplaceAll(compact, old, changed))
		}
		writeFile(t, filepath.Join(dir, file+".json"), b)
	}
	_, out := conform("-suite", "torchdata", "-only", name, dir)
	return out
}
