// Drives one published release of the SDK: node drive.mjs RELEASE CALL JSON. Prints what came of it.
const [release, call, text] = process.argv.slice(2);
const wish = JSON.parse(text);
const sdk = await import(`mxc-sdk-${release}`);

const answer = (value) => process.stdout.write(JSON.stringify(value) + '\n');
const failure = (error) => ({ failed: error.message, code: error.code ?? null });

// What the package's own page shows: a configuration made from a policy, run with pipes.
async function piped() {
  const config = sdk.createConfigFromPolicy(wish.policy, wish.containment ?? 'process');
  config.process.commandLine = wish.script;
  const child = sdk.spawnSandboxFromConfig(config, { usePty: false, ...wish.options });
  let out = '';
  let err = '';
  child.stdout.on('data', (data) => { out += data; });
  child.stderr.on('data', (data) => { err += data; });
  child.stdin.end();
  const code = await new Promise((resolve) => child.on('close', resolve));
  return { code, out, err };
}

async function terminal() {
  const done = await sdk.spawnSandboxAsync(wish.script, wish.policy, wish.options ?? {});
  return { code: done.exitCode, out: done.stdout };
}

async function lifecycle() {
  const options = { experimental: true };
  const steps = {};
  const { sandboxId } = await sdk.provisionSandbox(wish.containment, wish.policy, options);
  steps.id = sandboxId;
  const attempt = async (action) => {
    try { return await action(); } catch (error) { return failure(error); }
  };
  const exec = () => sdk.execInSandboxAsync(sandboxId, { process: { commandLine: wish.script } },
                                            options);
  steps.early = await attempt(exec);
  await sdk.startSandbox(sandboxId, undefined, options);
  steps.again = await attempt(() => sdk.startSandbox(sandboxId, undefined, options));
  steps.exec = await attempt(exec);
  steps.widened = await attempt(() => sdk.execInSandboxAsync(sandboxId,
    { process: { commandLine: wish.script }, filesystem: { readwritePaths: ['/'] } }, options));
  await sdk.stopSandbox(sandboxId, undefined, options);
  steps.late = await attempt(exec);
  await sdk.deprovisionSandbox(sandboxId, undefined, options);
  steps.gone = await attempt(exec);
  return steps;
}

try {
  answer(await { piped, terminal, lifecycle }[call]());
} catch (error) {
  answer(failure(error));
}
