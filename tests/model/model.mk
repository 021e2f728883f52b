# make model     the ring's protocols, checked by spin; and that their broken variants are found

.PHONY: model test-model
model: test-model
test-model:
	@tests/deps model
	@BUILD=$(BUILD) tests/run model --timeout 300 tests/model/check
