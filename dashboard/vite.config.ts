import { defineConfig } from "vite";

// Names without hashes, so that a build differs from the committed one only where the code does.
export default defineConfig({
  base: "./",
  server: { proxy: { "/api": "http://127.0.0.1:8000" } },
  build: {
    outDir: "../src/tactician/serve/dashboard/static",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    license: { fileName: "LICENSES.md" },
    rollupOptions: {
      output: {
        entryFileNames: "assets/app.js",
        chunkFileNames: "assets/[name].js",
        assetFileNames: "assets/[name][extname]",
      },
    },
  },
});
