package hwreplay
