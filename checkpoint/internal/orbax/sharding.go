package orbax

import (
	"encoding/base64"
	"encoding/json"
)

// ParseSharding reads _sharding and returns the sharding of each array, by its parameter.
func ParseSharding(b []byte) (map[string]string, error) {
	list, err := members(b)
	if err != nil {
		return nil, corrupt(ShardingFile, "%v", err)
	}
	out := make(map[string]string, len(list))
	for _, m := range list {
		param, err := base64.URLEncoding.DecodeString(m.key)
		if err != nil {
			return nil, corrupt(ShardingFile, "the name %q: %v", m.key, err)
		}
		var text string
		if err := json.Unmarshal(m.value, &text); err != nil {
			return nil, corrupt(ShardingFile, "%s: %v", param, err)
		}
		out[string(param)] = text
	}
	return out, nil
}
