package conform

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func committedOrders(suite string) string { return filepath.Join("..", "..", "testdata", suite) }

// The excerpts that are committed pass, as does the whole set where it lies beside
// the checkout.
func TestOrders(t *testing.T) {
	for suite, c := range map[string]struct{ least, core int }{"grain": {165, 293}, "streaming": {203, 713}} {
		code, out := conform("-suite", suite, committedOrders(suite))
		if code != 0 || !strings.HasSuffix(lastLine(out), " passed, 0 failed, 0 skipped") {
			t.Errorf("%s: exit %d\n%s", suite, code, out)
		}
		all := filepath.Join("..", "..", "..", "shared", "vectors", suite)
		if _, err := os.Stat(all); err != nil {
			t.Log("the full set of cases is not beside this checkout")
			continue
		}
		want := strconv.Itoa(c.core) + " passed, 0 failed, 0 skipped"
		if code, out := conform("-suite", suite, "-only", "core", all); code != 0 || lastLine(out) != want {
			t.Errorf("%s: exit %d, want the last line %q\n%s", suite, code, want, out)
		}
		if code, out := conform("-suite", suite, all); code != 0 {
			t.Errorf("%s, all: exit %d\n%s", suite, code, out)
		}
	}
}

// alteredOrders is a folder with one file of an excerpt. The file has two vectors: the first that
// contains a text, which is replaced in it once, and another, which passes.
func alteredOrders(t *testing.T, suite, file, old, changed string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(committedOrders(suite), file))
	if err != nil {
		t.Fatal(err)
	}
	var top map[string]json.RawMessage
	var vectors []json.RawMessage
	if err := errors.Join(json.Unmarshal(b, &top), json.Unmarshal(top["vectors"], &vectors)); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(vectors, func(v json.RawMessage) bool { return bytes.Contains(v, []byte(old)) })
	if i < 0 {
		t.Fatalf("no vector of %s contains %s", file, old)
	}
	other := vectors[0]
	if i == 0 {
		other = vectors[1]
	}
	altered := json.RawMessage(bytes.Replace(vectors[i], []byte(old), []byte(changed), 1))
	if top["vectors"], err = json.Marshal([]json.RawMessage{other, altered}); err == nil {
		b, err = json.Marshal(top)
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, file), b)
	return dir
}

// Each alteration of an expectation must be seen.
func TestAlterationsOfOrdersAreSeen(t *testing.T) {
	for name, c := range map[string]struct{ suite, file, old, changed, want string }{
		"permutation":      {"grain", "index_shuffle.json", `"perm":[0,1]`, `"perm":[1,0]`, "perm: got"},
		"hash":             {"grain", "index_shuffle.json", `"sha256_of_int64le":"a`, `"sha256_of_int64le":"b`, "sha256 a"},
		"bijection":        {"grain", "index_shuffle.json", `"bijection":true`, `"bijection":false`, "want false"},
		"huge":             {"grain", "index_shuffle.json", `"values":["`, `"values":["1`, "want 1"},
		"refused call":     {"grain", "index_shuffle.json", `"rounds":2},"error"`, `"rounds":4},"error"`, "accepted, want"},
		"record":           {"grain", "index_sampler.json", `"index_and_record_key":[[0,0]`, `"index_and_record_key":[[0,1]`, "position 0"},
		"repr":             {"grain", "index_sampler.json", `"repr":"IndexSampler(`, `"repr":"Sampler(`, `want "Sampler(`},
		"sampler call":     {"grain", "index_sampler.json", `"call":{"num_records":0}`, `"call":{"num_records":1}`, "accepted, want"},
		"batch":            {"grain", "dataloader.json", `"batches":[[100,`, `"batches":[[101,`, "from state 0: ["},
		"worker's batch":   {"grain", "dataloader.json", `"batches":[[104,`, `"batches":[[105,`, "from state 0: ["},
		"worker's state":   {"grain", "dataloader.json", `\"0\": -2`, `\"0\": -4`, "from state 0, state 0"},
		"packed value":     {"grain", "pipelines.json", `{"t":[0,1,2,`, `{"t":[0,1,3,`, "from state 0, element 0"},
		"segments":         {"grain", "pipelines.json", `_ids":[1,1,1,2,2,`, `_ids":[1,1,1,1,1,`, "from state 0, element 0"},
		"packed state":     {"grain", "pipelines.json", `"next_row":1,"counter":1`, `"next_row":1,"counter":2`, "state 1 is"},
		"rest":             {"grain", "pipelines.json", `"remainder_slices":{"t":[3,8]}`, `"remainder_slices":{"t":[2,8]}`, "state 3 is"},
		"loader state":     {"grain", "dataloader.json", `\"0\": 3`, `\"0\": 4`, "from state 1"},
		"elastic batch":    {"grain", "elastic.json", `"next_batch_by_shard":[[`, `"next_batch_by_shard":[[1`, "shard 0 of"},
		"philox":           {"grain", "philox.json", `"raw_u64":["`, `"raw_u64":["1`, "raw_u64[0]"},
		"element":          {"grain", "pipelines.json", `"getitem":[0,`, `"getitem":[1,`, "element 0: got 0, want 1"},
		"filtered element": {"grain", "pipelines.json", `"getitem":[0,null,`, `"getitem":[0,1,`, "element 1: got null, want 1"},
		"length":           {"grain", "pipelines.json", `"len":13`, `"len":12`, "length 13, want 12"},
		"value":            {"grain", "pipelines.json", `"values":[0,`, `"values":[1,`, "from state 0, element 0"},
		"end":              {"grain", "pipelines.json", `"values":[0,`, `"values":[`, "(end true)"},
		"iterator state":   {"grain", "pipelines.json", `{"next_index":1}`, `{"next_index":2}`, "state 1 is"},
		"mixture state":    {"grain", "pipelines.json", `"index":1,"stop":false`, `"index":2,"stop":false`, "state 1 is"},
		"function":         {"grain", "pipelines.json", `["%","x",3]`, `["%","x",4]`, "element 3"},
		"unknown member":   {"grain", "pipelines.json", `"len":13`, `"surprise":1,"len":13`, "unknown member surprise"},
		"unknown argument": {"grain", "pipelines.json", `{"seed":0}`, `{"seed":0,"surprise":1}`, "skip pipelines/"},
		"order":            {"streaming", "shuffle.json", `"order":[`, `"order":[1`, "want [1"},
		"flat":             {"streaming", "partition.json", `"flat":[`, `"flat":[1`, "want [1"},
		"shape":            {"streaming", "partition.json", `"shape":[1,`, `"shape":[2,`, "want [2 "},
		"refused split":    {"streaming", "partition.json", `"error"`, `"failure"`, "refused: "},
		"global batches":   {"streaming", "elastic.json", `"global_batches":[[`, `"global_batches":[[1`, "want [1"},
		"numpy":            {"streaming", "numpy_rng.json", `"pcg64_raw":["`, `"pcg64_raw":["1`, "pcg64_raw: got"},
		"unknown draw":     {"streaming", "numpy_rng.json", `"pcg64_raw"`, `"pcg65_raw"`, "unknown member pcg65_raw"},
	} {
		dir := alteredOrders(t, c.suite, c.file, c.old, c.changed)
		code, out := conform("-suite", c.suite, dir)
		if strings.HasPrefix(c.want, "skip") {
			code++ // what is skipped is printed and counted, and fails nothing
		}
		if code != 1 || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit %d, want a line with %q\n%.2000s", name, code, c.want, out)
		}
	}
}

func TestOrdersThatCannotBeJudged(t *testing.T) {
	for text, want := range map[string]string{
		`{"grain":"1","vectors":[{}]}`:              `FAIL surprise: unknown layout "surprise"`,
		`{"vectors":[{}]}`:                          "FAIL surprise: no version of grain",
		`{"grain":"1","surprise":1,"vectors":[{}]}`: "FAIL surprise: unknown member surprise",
	} {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, "surprise.json"), []byte(text))
		if code, out := conform("-suite", "grain", dir); code != 1 || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d, want %q\n%s", text, code, want, out)
		}
	}
}
