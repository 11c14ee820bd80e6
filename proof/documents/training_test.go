package documents_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/tensor"
)

func trainingSpecimens() []specimen {
	var all []specimen
	add := func(name string, o training.Options, load training.Options) {
		all = append(all, specimen{
			name: "training/" + name,
			write: func(t *testing.T, path string) {
				c, err := training.Open(t.Context(), path, &o)
				check(t, err)
				for _, step := range []int64{0, 10, 20, 30} {
					state := map[string]any{"w": ramp(tensor.Float32, 6, 5), "step": step, "frozen": ramp(tensor.Int8, 100)}
					_, err := c.Save(t.Context(), step, state,
						&training.SaveOptions{Metrics: map[string]float64{"loss": 1 / float64(1+step)}})
					check(t, err)
				}
				_, err = c.SaveCheckpointables(t.Context(), 40,
					map[string]any{"state": map[string]any{"w": ramp(tensor.Float32, 3)}, "data": json.RawMessage(`{"at":7}`)}, nil)
				check(t, err)
				check(t, c.Close())
			},
			read: func(t *testing.T, path string) string {
				c, err := training.Open(t.Context(), path, &load)
				check(t, err)
				defer c.Close()
				s := ""
				for _, info := range c.Checkpoints() {
					items, err := c.LoadCheckpointables(t.Context(), info.Step, nil)
					check(t, err)
					s += fmt.Sprintln("step", info.Step, info.Metrics, sortedKeys(items))
				}
				n, err := c.Load(t.Context(), training.Latest, nil)
				check(t, err)
				return s + leavesOf(n)
			},
		})
	}
	every := training.AnySave{training.InitialSave{}, training.FixedInterval{Steps: 1}}
	keep := training.Options{Save: every, Preserve: training.LatestN{N: 3}}
	add("run", keep, training.Options{})
	linked := keep
	linked.Dedup = training.Dedup{On: true}
	linked.Custom = map[string]any{"model": "small"}
	add("linked", linked, training.Options{})
	signed, verified := keep, training.Options{}
	signed.Signing, verified.Verification = signer, public()
	add("signed", signed, verified)
	named := training.Options{Save: every, Names: training.StandardNames{Prefix: new("ckpt"), FixedLength: 8}}
	add("named", named, training.Options{Names: named.Names})
	return all
}
