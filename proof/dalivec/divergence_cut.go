package dalivec

import (
	"errors"
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
)

// cutSound: DALI decodes what is left of a cut WAV file, Bivouac refuses it.
var cutSound = divergence{
	name: "audio_cut",
	applies: func(c *Case) bool {
		return c.Op == "decoders.audio" && len(c.Inputs) == 1 && c.Inputs[0][0].File == "bad_cut.wav"
	},
	judge: func(_ *Set, _ *Case, _ Results, err error) error {
		if !errors.Is(err, errs.Corrupt) {
			return fmt.Errorf("want an error of kind corrupt: %w", err)
		}
		return nil
	},
}
