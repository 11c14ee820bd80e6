package tokenizer

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
)

// template is what a post-processor adds to the tokens of a text.
type template struct{ before, after []int32 }

func (t template) added() int { return len(t.before) + len(t.after) }

// pairJSON is a token and its id, written as a list.
type pairJSON struct {
	Token string
	ID    int32
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *pairJSON) UnmarshalJSON(b []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(b, &list); err != nil || len(list) != 2 {
		return fmt.Errorf("want a token and its id")
	}
	if err := json.Unmarshal(list[0], &p.Token); err != nil {
		return err
	}
	return json.Unmarshal(list[1], &p.ID)
}

// parsePost reads a post-processor of a tokenizer.json. Only what it adds counts.
func parsePost(raw json.RawMessage) ([]template, error) {
	kind, err := typeOf(raw, "post_processor")
	if err != nil || kind == "" {
		return nil, err
	}
	type one struct {
		Sequence *struct {
			ID     string `json:"id"`
			TypeID int    `json:"type_id"`
		} `json:"Sequence"`
		SpecialToken *struct {
			ID     string `json:"id"`
			TypeID int    `json:"type_id"`
		} `json:"SpecialToken"`
	}
	var c struct {
		typed
		Processors     []json.RawMessage `json:"processors"`
		AddPrefixSpace bool              `json:"add_prefix_space"`
		TrimOffsets    bool              `json:"trim_offsets"`
		UseRegex       bool              `json:"use_regex"`
		Sep            *pairJSON         `json:"sep"`
		Cls            *pairJSON         `json:"cls"`
		Single         []one             `json:"single"`
		Pair           []one             `json:"pair"`
		SpecialTokens  map[string]struct {
			ID     string   `json:"id"`
			IDs    []int32  `json:"ids"`
			Tokens []string `json:"tokens"`
		} `json:"special_tokens"`
	}
	if err := decode(raw, &c, "post_processor "+kind); err != nil {
		return nil, err
	}
	switch kind {
	case "ByteLevel":
		return nil, nil
	case "RobertaProcessing", "BertProcessing":
		if c.Sep == nil || c.Cls == nil {
			return nil, lacking("post_processor "+kind, "sep and cls")
		}
		return []template{{[]int32{c.Cls.ID}, []int32{c.Sep.ID}}}, nil
	case "TemplateProcessing":
		var t template
		texts := 0
		for _, part := range c.Single {
			switch {
			case part.Sequence != nil && part.Sequence.ID == "A":
				texts++
			case part.SpecialToken != nil:
				special, ok := c.SpecialTokens[part.SpecialToken.ID]
				if !ok {
					return nil, lacking("special_tokens of the post_processor", strconv.Quote(part.SpecialToken.ID))
				}
				if texts == 0 {
					t.before = append(t.before, special.IDs...)
				} else {
					t.after = append(t.after, special.IDs...)
				}
			default:
				texts = 2
			}
		}
		if texts != 1 {
			return nil, &errs.Error{Kind: errs.Unsupported, Subject: "single of the post_processor", Want: "the text once",
				Got: "another template"}
		}
		return []template{t}, nil
	case "Sequence":
		var list []template
		for _, raw := range c.Processors {
			more, err := parsePost(raw)
			if err != nil {
				return nil, err
			}
			list = append(list, more...)
		}
		return list, nil
	}
	return nil, unknownType("post_processor", kind)
}
