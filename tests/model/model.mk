##@ Tests, each described in tests/README.md
.PHONY: test-model ## model-checks the ring's protocols with spin; broken variants must fail
test-model:
	@tests/tools/deps.sh model
	@BUILD=$(BUILD) tests/tools/run.py model --timeout 1800 tests/model/check.sh
