package serve

import (
	"github.com/bivouac-ml/bivouac/errs"
)

// remain is training.Remains as it travels.
type remain struct {
	Name  string `json:"name"`
	Error *fault `json:"error"`
}

// trainingRemains lists what is left of steps that are not listed.
func trainingRemains(k *call, c *checkpointer) (reply, error) {
	found, err := c.Remains(k.ctx)
	if err != nil {
		return reply{}, err
	}
	out := []remain{}
	for _, r := range found {
		out = append(out, remain{r.Name, newFault(r.Err)})
	}
	return answer(map[string][]remain{"remains": out})
}

// trainingQuarantine sets a damaged step aside.
func trainingQuarantine(k *call) (reply, error) {
	c, err := k.checkpointer()
	if err != nil {
		return reply{}, err
	}
	step, why := k.args.id("step"), k.args.text("why")
	if err := k.args.finish(); err != nil {
		return reply{}, err
	}
	return nothing(c.Quarantine(k.ctx, step, &errs.Error{Kind: errs.Corrupt, Got: why}))
}
