package training

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Retained says whether the preservation policy keeps a checkpoint.
type Retained struct {
	Info
	Keep bool
	// Reason says what keeps it: the policies under Orbax's names, or that it is the newest. It is
	// empty if nothing keeps it.
	Reason string
}

// Retention returns what the preservation policy would do with the checkpoints
// now, ascending by step: a dry run, nothing is removed. After a commit it speaks
// with one checkpoint more.
func (c *Checkpointer) Retention() []Retained {
	list := slices.Clone(c.snapshot())
	out := make([]Retained, len(list))
	for i, in := range list {
		out[i].Info = in
	}
	explain(c.opts.Preserve, list, c.opts.Now(), out)
	if sound, at := c.sound(context.Background(), list); len(sound) < len(list) {
		others := make([]Retained, len(sound))
		explain(c.opts.Preserve, sound, c.opts.Now(), others)
		for i, o := range others {
			if k := &out[at[i]]; o.Keep && !k.Keep {
				k.Keep, k.Reason = true, o.Reason+", as a scrub found others damaged"
			}
		}
	}
	if n := len(out); n > 0 && !out[n-1].Keep {
		out[n-1].Keep, out[n-1].Reason = true, "the newest"
	}
	return out
}

// explain marks the steps that a policy keeps, with the parts of the policy that keep them.
func explain(p PreservationPolicy, list []Info, now time.Time, out []Retained) {
	if parts, ok := p.(AnyPreservation); ok {
		for _, q := range parts {
			explain(q, list, now, out)
		}
		return
	}
	name := "" // long if the policy lists steps
	for i, keep := range p.Preserve(list, now) {
		if !keep {
			continue
		}
		if name == "" {
			name = policyName(p)
		}
		if out[i].Keep {
			out[i].Reason += ", "
		}
		out[i].Keep = true
		out[i].Reason += name
	}
}

// longestName bounds the text of a policy in a reason. A policy that lists thousands of steps would
// be repeated in each reason.
const longestName = 120

// policyName returns the policy as data, or its type.
func policyName(p PreservationPolicy) string {
	spec, err := PreservationSpec(p)
	if err != nil {
		return typeName(p)
	}
	name := spec.String()
	if len(name) > longestName {
		name = strings.Clone(strings.ToValidUTF8(name[:longestName], "")) + "…"
	}
	return name
}

func typeName(p any) string { return strings.TrimPrefix(fmt.Sprintf("%T", p), "training.") }
