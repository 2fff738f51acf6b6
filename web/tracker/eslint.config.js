import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["dist/", "kept/", "node_modules/"] },
  {
    files: ["**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { project: "./tsconfig.json", tsconfigRootDir: import.meta.dirname } },
    rules: {
      eqeqeq: "error",
      "no-console": "error",
      "@typescript-eslint/no-non-null-assertion": "error",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      // The test runner's own promises are awaited by it.
      "@typescript-eslint/no-floating-promises": ["error", { allowForKnownSafeCalls: ["test", "it", "describe"] }],
    },
  },
);
